package io.pinotplugins.avro;

import org.apache.avro.Schema;

/** The type of the values of a column, nullable or not. */
public final class ColumnType {
  /** The type of the values; for arrays, of their items. */
  public final Schema.Type type;
  /** Avro's logical type of the values, or null. */
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

  /** Returns the only other branch of a union with null, and any other schema unchanged. */
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
