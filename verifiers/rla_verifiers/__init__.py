"""Ground truth on episodes and steps; never an LLM."""
