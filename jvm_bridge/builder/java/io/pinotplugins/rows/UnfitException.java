package io.pinotplugins.rows;

/** A value that a column of the table cannot hold without a change. */
public final class UnfitException extends RuntimeException {
  public final transient Object value;
  public final String reason;
  public String column;

  UnfitException(Object value, String reason) {
    this.value = value;
    this.reason = reason;
  }

  @Override
  public String getMessage() {
    return "column " + column + ": " + reason;
  }
}
