"""The adapters of libraries that are shipped with the kit, by the names of the libraries."""
