"""The HTML report of a run: verdict, traces, efficiency, topics to browse, responses, how to reproduce it."""

from ppl_topics.diagnostics.report.html import report_html, write_report

__all__ = ["report_html", "write_report"]
