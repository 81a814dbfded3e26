"""Embedded language models: tiny, word-level, trained in minutes on a CPU, stored as Hugging Face folders."""
