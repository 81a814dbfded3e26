"""Training without a hub or a GPU: PPO-clip on step advantages, and the supervised warm start."""
