"""``df.write.format("pinot")``: tasks stage segments, the driver's commit brings them in in one step."""
