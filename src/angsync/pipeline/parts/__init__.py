"""One sparse problem in parts: each solved alone, put together, and finished as a whole."""
