"""``df.write.format("pinot")``: tasks stage segments, the driver's commit publishes them in one step."""
