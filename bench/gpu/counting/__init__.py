"""Parts of bench/gpu/count."""
