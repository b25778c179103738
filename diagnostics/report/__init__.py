"""A run as one self-contained page: verdict, traces, efficiency, topics to browse, responses, how to reproduce."""

from ppl_topics.diagnostics.report.html import report_html, write_report

__all__ = ["report_html", "write_report"]
