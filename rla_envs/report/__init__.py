"""The HTML report of a run: one file, no scripts, nothing loaded from elsewhere."""

from rla_envs.report.report import write_report

__all__ = ["write_report"]
