"""OSWorld: computer-use tasks on a real desktop, as Gymnasium environments."""
