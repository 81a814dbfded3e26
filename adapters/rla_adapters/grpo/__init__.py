"""TRL as a trainer: GRPOTrainer's loss and accelerate's machinery on our samples (extra trl).

The package is not called ``trl``: a folder of that name on the path of a script hides the library.
"""
