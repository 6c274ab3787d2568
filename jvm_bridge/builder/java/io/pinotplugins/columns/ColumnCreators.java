package io.pinotplugins.columns;

import java.io.IOException;

/**
 * The creators that Pinot's driver made for one column, for any version of Pinot. Rows are added in their order, many
 * at a time.
 */
public interface ColumnCreators {
  /** Returns whether the column has a dictionary. */
  boolean isEncoded();

  /** Returns whether some creators of a column with a dictionary also need values (bloom filters, texts ...). */
  boolean takesValues();

  /** Adds single-value rows of a column with a dictionary to the creators that need ids. */
  void addIds(int[] ids, int count)
      throws IOException;

  /** Adds the same rows to the creators that need values. */
  void addValues(Object[] valueOfId, int[] ids, int count)
      throws IOException;

  /** Adds a multi-value row of a column with a dictionary; values is null if no creator needs them. */
  void addRow(Object[] values, int[] ids)
      throws IOException;

  /** Adds single-value rows of a column without a dictionary. */
  void addRaw(int[] values, int count)
      throws IOException;

  /** The same as above. */
  void addRaw(long[] values, int count)
      throws IOException;

  /** The same as above. */
  void addRaw(float[] values, int count)
      throws IOException;

  /** The same as above. */
  void addRaw(double[] values, int count)
      throws IOException;

  /** Adds a single-value row of any other type. */
  void addRaw(Object value)
      throws IOException;

  /** Adds a multi-value row of a column without a dictionary. */
  void addRaw(Object[] values)
      throws IOException;

  /** Marks a row as null; does nothing if the table does not store nulls. */
  void setNull(int row);
}
