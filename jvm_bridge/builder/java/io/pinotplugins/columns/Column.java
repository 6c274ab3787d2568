package io.pinotplugins.columns;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import org.apache.pinot.segment.local.segment.creator.impl.stats.AbstractColumnStatisticsCollector;
import org.apache.pinot.segment.spi.creator.ColumnStatistics;
import org.apache.pinot.segment.spi.partition.PartitionFunction;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.FieldSpec.DataType;

/** One column: the statistics that Pinot's collector would find in it, and its values for Pinot's creators. */
abstract class Column implements ColumnStatistics {
  /** Whether Pinot asks for all lengths, as since 1.6; before, it has none of numbers, nor the shortest of strings. */
  static final boolean HAS_ALL_LENGTHS = hasMethod("getLengthOfLongestElement");

  final String _name;
  final DataType _storedType;
  final boolean _isSingle;
  final Block[] _blocks;
  /** Before the rows are read, whether they may be sorted: for Pinot, multi-value rows never are. */
  boolean _isSorted;
  int _entries;
  int _maxInRow;
  int _maxRowBytes;
  private FieldSpec _fieldSpec;
  private transient AbstractColumnStatisticsCollector _partitions;
  private transient Object[] _boxed;

  Column(String name, DataType storedType, boolean isSingle, long[] positions) {
    _name = name;
    _storedType = storedType;
    _isSingle = isSingle;
    _isSorted = isSingle;
    _blocks = new Block[positions.length / Block.FIELDS];
    for (int i = 0; i < _blocks.length; i++) {
      _blocks[i] = new Block(positions, i * Block.FIELDS);
    }
  }

  /**
   * Reads the column and collects its statistics.
   *
   * @param fieldSpec its field in the schema
   * @param partitions Pinot's collector for this column, which only gets values if the column is partitioned
   */
  final void collect(ColumnFile file, FieldSpec fieldSpec, AbstractColumnStatisticsCollector partitions)
      throws IOException {
    _fieldSpec = fieldSpec;
    _partitions = partitions;
    for (Block block : _blocks) {
      _entries = Math.addExact(_entries, block._values);
    }
    findDistinct(file);
    if (!_isSingle) {
      findLongestRows(file);
    }
    if (_isSingle && _partitions.getPartitionFunction() != null) {
      for (Object value : boxed()) {
        _partitions.collect(value);
      }
    }
  }

  private static boolean hasMethod(String name) {
    for (Method method : ColumnStatistics.class.getMethods()) {
      if (method.getName().equals(name)) {
        return true;
      }
    }
    return false;
  }

  /** Finds the distinct values and whether the rows are sorted. */
  abstract void findDistinct(ColumnFile file)
      throws IOException;

  /** Reads a block's values as ids: positions among the sorted distinct values. The array is reused. */
  abstract int[] ids(ColumnFile file, int block)
      throws IOException;

  /** Returns the distinct values in the form for creators, in order. */
  abstract Object[] box();

  /** Returns the size of a distinct value in bytes; 0 for values with a fixed width. */
  abstract int sizeOf(int id);

  /** Frees memory that was only needed to index the rows. */
  abstract void release();

  /** Passes the rows of a single-value column without a dictionary to the creators. */
  abstract void indexRaw(ColumnFile file, int block, ColumnCreators creators)
      throws IOException;

  private Object[] boxed() {
    if (_boxed == null) {
      _boxed = box();
    }
    return _boxed;
  }

  private void findLongestRows(ColumnFile file)
      throws IOException {
    for (int b = 0; b < _blocks.length; b++) {
      int[] lengths = _blocks[b].lengths(file);
      int[] ids = _storedType.isFixedWidth() ? null : ids(file, b);
      int value = 0;
      for (int length : lengths) {
        _maxInRow = Math.max(_maxInRow, length);
        if (ids != null) {
          int size = 0;
          for (int end = value + length; value < end; value++) {
            size += sizeOf(ids[value]);
          }
          _maxRowBytes = Math.max(_maxRowBytes, size);
        }
      }
    }
  }

  /** Passes all rows to Pinot's creators. */
  final void index(ColumnFile file, ColumnCreators creators)
      throws IOException {
    int row = 0;
    for (int b = 0; b < _blocks.length; b++) {
      if (!_isSingle) {
        indexRows(file, b, creators);
      } else if (creators.isEncoded()) {
        int[] ids = ids(file, b);
        creators.addIds(ids, _blocks[b]._rows);
        if (creators.takesValues()) {
          creators.addValues(boxed(), ids, _blocks[b]._rows);
        }
      } else {
        indexRaw(file, b, creators);
      }
      for (int offset : _blocks[b].nulls(file)) {
        creators.setNull(row + offset);
      }
      row += _blocks[b]._rows;
    }
    _boxed = null;
    release();
  }

  private void indexRows(ColumnFile file, int block, ColumnCreators creators)
      throws IOException {
    int[] lengths = _blocks[block].lengths(file);
    int[] all = ids(file, block);
    Object[] boxed = creators.isEncoded() && !creators.takesValues() ? null : boxed();
    int start = 0;
    for (int length : lengths) {
      int[] ids = new int[length];
      System.arraycopy(all, start, ids, 0, length);
      Object[] values = boxed == null ? null : new Object[length];
      for (int i = 0; values != null && i < length; i++) {
        values[i] = boxed[ids[i]];
      }
      if (creators.isEncoded()) {
        creators.addRow(values, ids);
      } else {
        creators.addRaw(values);
      }
      start += length;
    }
  }

  @Override
  public int getLengthOfShortestElement() {
    return HAS_ALL_LENGTHS ? _storedType.size() : -1;
  }

  @Override
  public int getLengthOfLargestElement() {
    return HAS_ALL_LENGTHS ? _storedType.size() : -1;
  }

  @Override
  public final int getMaxRowLengthInBytes() {
    int longest = getLengthOfLargestElement();
    return longest < 0 || _isSingle ? longest : _storedType.isFixedWidth() ? longest * _maxInRow : _maxRowBytes;
  }

  @Override
  public final boolean isSorted() {
    return _isSorted;
  }

  @Override
  public final int getTotalNumberOfEntries() {
    return _entries;
  }

  @Override
  public final int getMaxNumberOfMultiValues() {
    return _maxInRow;
  }

  @Override
  public final PartitionFunction getPartitionFunction() {
    return _partitions.getPartitionFunction();
  }

  @Override
  public final Set<Integer> getPartitions() {
    return _partitions.getPartitions();
  }

  // Pinot before 1.6 asks for these two.

  public final int getNumPartitions() {
    PartitionFunction function = getPartitionFunction();
    return function == null ? 0 : function.getNumPartitions();
  }

  public final Map<String, String> getPartitionFunctionConfig() {
    PartitionFunction function = getPartitionFunction();
    return function == null ? null : function.getFunctionConfig();
  }

  // Pinot asks for the rest since 1.6.

  public final FieldSpec getFieldSpec() {
    return _fieldSpec;
  }

  public final int getTotalDocs() {
    int rows = 0;
    for (Block block : _blocks) {
      rows += block._rows;
    }
    return rows;
  }

  public final int getLengthOfLongestElement() {
    return getLengthOfLargestElement();
  }
}
