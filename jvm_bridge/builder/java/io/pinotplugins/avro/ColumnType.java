package io.pinotplugins.avro;

import org.apache.avro.Schema;

/** What the values of a column are, whether or not they may be null. */
public final class ColumnType {
  /** The type of the values, or of those in the arrays. */
  public final Schema.Type type;
  /** What the values stand for, by Avro's name; null where it is only themselves. */
  public final String logicalType;
  public final boolean isArray;

  ColumnType(Schema column) {
    Schema values = withoutNull(column);
    isArray = values.getType() == Schema.Type.ARRAY;
    if (isArray) {
      values = withoutNull(values.getElementType());
    }
    type = values.getType();
    logicalType = values.getLogicalType() == null ? null : values.getLogicalType().getName();
  }

  /** Returns the only other branch of a union with null, and whatever is no such union itself. */
  static Schema withoutNull(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) {
      return schema;
    }
    Schema found = null;
    for (Schema branch : schema.getTypes()) {
      if (branch.getType() != Schema.Type.NULL) {
        if (found != null) {
          return schema;
        }
        found = branch;
      }
    }
    return found == null ? Schema.create(Schema.Type.NULL) : found;
  }
}
