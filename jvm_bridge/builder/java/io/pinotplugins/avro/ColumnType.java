package io.pinotplugins.avro;

import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;

/** The type of the values of a column, nullable or not. */
public final class ColumnType {
  /** Avro's type of the values, for arrays of their items; or DECIMAL, MIXED or NESTED. */
  public final String type;
  /** Avro's logical type of the values, or null. */
  public final String logicalType;
  public final boolean isArray;

  ColumnType(Schema column) {
    Schema values = withoutNull(column);
    boolean isList = values.getType() == Schema.Type.ARRAY;
    String ofValues = kind(isList ? withoutNull(values.getElementType()) : values);
    // Lists of values that are given as text are given as text themselves.
    isArray = isList && !isText(ofValues);
    if (isList && !isArray) {
      ofValues = "NESTED";
    } else if (isList) {
      values = withoutNull(values.getElementType());
    }
    type = ofValues;
    LogicalType logical = values.getLogicalType();
    logicalType = logical == null ? null : logical.getName();
  }

  private static boolean isText(String kind) {
    return kind.equals("DECIMAL") || kind.equals("MIXED") || kind.equals("NESTED");
  }

  private static String kind(Schema values) {
    switch (values.getType()) {
      case BYTES:
      case FIXED:
        return isDecimal(values) ? "DECIMAL" : "BYTES";
      case UNION:
        return "MIXED";
      case ARRAY:
      case MAP:
      case RECORD:
        return "NESTED";
      default:
        return values.getType().name();
    }
  }

  static boolean isDecimal(Schema values) {
    return values.getLogicalType() instanceof LogicalTypes.Decimal || isBigDecimal(values);
  }

  /** Returns whether each value has its own scale, which Avro's library knows since 1.12. */
  static boolean isBigDecimal(Schema values) {
    return values.getType() == Schema.Type.BYTES && "big-decimal".equals(values.getProp("logicalType"));
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
