"""Starting points."""
