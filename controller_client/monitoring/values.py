"""Values of metrics by their labels: replaced together, and dropped with their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from prometheus_client import Counter, Gauge

__all__ = ["Values", "forget_tables", "label_sets", "replace_values"]

Values = Mapping[tuple[str, ...], float]
"""Values by the values of the labels."""


def replace_values(gauge: Gauge, values: Values) -> None:
    """Give a gauge the values of a round; those of labels that are not among them go."""
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
    for labels in label_sets(gauge) - values.keys():
        gauge.remove(*labels)


def forget_tables(metrics: Iterable[Counter | Gauge], present: Collection[str]) -> None:
    """Drop the values of tables that are not there any more; ``table`` is each metric's first label."""
    for metric in metrics:
        for labels in label_sets(metric):
            if labels[0] not in present:
                metric.remove(*labels)


def label_sets(metric: Counter | Gauge) -> set[tuple[str, ...]]:
    """Return the values of the labels that a metric has values for."""
    return {tuple(sample.labels.values()) for family in metric.collect() for sample in family.samples}
