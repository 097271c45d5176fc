"""What bench/gpu/run is made of: programs under time limits, rows, parts, the report."""
