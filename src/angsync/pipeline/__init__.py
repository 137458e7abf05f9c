"""One problem from data to result: what kind it is, its components, outliers, anchors."""
