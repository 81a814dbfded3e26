"""Embedded language models: tiny, word-level, stored as Hugging Face folders."""
