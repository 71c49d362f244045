"""The synchronous client, generated from ``_async`` by ``tools/generate.py``."""
