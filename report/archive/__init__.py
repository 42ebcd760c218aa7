"""What goes out whole, and what is kept: manifests, archives, and the shelf of records."""
