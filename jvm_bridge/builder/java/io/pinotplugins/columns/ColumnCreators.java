package io.pinotplugins.columns;

import java.io.IOException;

/**
 * The creators that Pinot's driver made for one column, whatever this Pinot keeps them in. Rows are added in their
 * order, many at a time.
 */
public interface ColumnCreators {
  /** Returns whether the column has a dictionary. */
  boolean isEncoded();

  /** Returns whether some creators of a column with a dictionary take values, too (bloom filters, texts ...). */
  boolean takesValues();

  /** Adds single-value rows of a column with a dictionary, to the creators that take ids. */
  void addIds(int[] ids, int count)
      throws IOException;

  /** Adds the same rows to the creators that take values. */
  void addValues(Object[] valueOfId, int[] ids, int count)
      throws IOException;

  /** Adds a multi-value row of a column with a dictionary; values are null where none are taken. */
  void addRow(Object[] values, int[] ids)
      throws IOException;

  /** Adds single-value rows of a column without a dictionary. */
  void addRaw(int[] values, int count)
      throws IOException;

  /** As above. */
  void addRaw(long[] values, int count)
      throws IOException;

  /** As above. */
  void addRaw(float[] values, int count)
      throws IOException;

  /** As above. */
  void addRaw(double[] values, int count)
      throws IOException;

  /** Adds a single-value row of any other type. */
  void addRaw(Object value)
      throws IOException;

  /** Adds a multi-value row of a column without a dictionary. */
  void addRaw(Object[] values)
      throws IOException;

  /** Notes that a row is null; nothing where the table does not keep nulls. */
  void setNull(int row);
}
