"""What this release writes outside of its processes, held against what it wrote before."""
