"""One problem from data to result: what kind it is, its components, one call, outliers, anchors."""
