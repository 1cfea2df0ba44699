"""Models of packages other than PyTorch Geometric, where they can be imported."""
