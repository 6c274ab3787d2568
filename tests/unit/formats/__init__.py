"""What this release writes outside of its processes, compared with what it wrote before."""
