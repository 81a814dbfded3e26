"""Every error this package raises on purpose.

Each is also the standard-library error a caller would expect, so ``except ValueError`` keeps
working. A message names the thing, the value and the way out.
"""


class RlaError(Exception):
    """Base of all errors raised by rla_envs and its sibling packages."""


class ConfigError(RlaError, ValueError):
    """A setting is out of range or settings contradict each other."""


class TaskError(RlaError, ValueError):
    """A task's data is malformed or cannot be what it claims to be."""


class TaskUnavailable(RlaError, LookupError):
    """A task, a task set or a file that a task needs cannot be found."""


class MissingExtra(RlaError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class ModelError(RlaError, RuntimeError):
    """A chat model failed, and not by the agent's fault: dead server, wrong reply, no memory."""


class DesktopError(RlaError, RuntimeError):
    """A desktop failed, and not by the agent's fault: it died, hung, or could not be started."""


class VerifierError(RlaError, RuntimeError):
    """A verifier cannot say whether a task was solved; the sample is masked, it is not a 0."""


class WorkerCrashed(RlaError, RuntimeError):
    """An environment worker process died more often than its restart budget allows."""


class RunError(RlaError, RuntimeError):
    """A run folder is missing, incomplete, or belongs to another configuration."""


class SandboxError(RlaError, RuntimeError):
    """The sandbox itself failed: missing tool, dead daemon, broken cell. Never a verdict."""
