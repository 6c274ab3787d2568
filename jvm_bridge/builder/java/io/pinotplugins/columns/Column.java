package io.pinotplugins.columns;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import org.apache.pinot.segment.local.segment.creator.impl.stats.AbstractColumnStatisticsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.BigDecimalColumnPreIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.BytesColumnPredIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.DoubleColumnPreIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.FloatColumnPreIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.IntColumnPreIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.LongColumnPreIndexStatsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.StringColumnPreIndexStatsCollector;
import org.apache.pinot.segment.spi.creator.ColumnStatistics;
import org.apache.pinot.segment.spi.creator.StatsCollectorConfig;
import org.apache.pinot.segment.spi.partition.PartitionFunction;
import org.apache.pinot.spi.data.FieldSpec.DataType;

/** One column: the statistics that Pinot's collector would find in it, and its values for Pinot's creators. */
abstract class Column implements ColumnStatistics {
  final String _name;
  final DataType _storedType;
  final boolean _isSingle;
  final Block[] _blocks;
  /** Before the rows are read, whether they may be sorted: for Pinot, multi-value rows never are. */
  boolean _isSorted;
  int _entries;
  int _maxInRow;
  int _maxRowBytes;
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

  /** Reads the column and collects its statistics. */
  final void collect(ColumnFile file, StatsCollectorConfig config)
      throws IOException {
    for (Block block : _blocks) {
      _entries = Math.addExact(_entries, block._values);
    }
    findDistinct(file);
    if (!_isSingle) {
      findLongestRows(file);
    }
    _partitions = collector(config);
    if (_isSingle && _partitions.getPartitionFunction() != null) {
      for (Object value : boxed()) {
        _partitions.collect(value);
      }
    }
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
      int[] ids = getLengthOfLargestElement() < 0 ? null : ids(file, b);
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

  private AbstractColumnStatisticsCollector collector(StatsCollectorConfig config) {
    switch (_storedType) {
      case INT:
        return new IntColumnPreIndexStatsCollector(_name, config);
      case LONG:
        return new LongColumnPreIndexStatsCollector(_name, config);
      case FLOAT:
        return new FloatColumnPreIndexStatsCollector(_name, config);
      case DOUBLE:
        return new DoubleColumnPreIndexStatsCollector(_name, config);
      case STRING:
        return new StringColumnPreIndexStatsCollector(_name, config);
      case BYTES:
        return new BytesColumnPredIndexStatsCollector(_name, config);
      case BIG_DECIMAL:
        return new BigDecimalColumnPreIndexStatsCollector(_name, config);
      default:
        throw new IllegalStateException("unsupported column type " + _storedType);
    }
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
  public final int getNumPartitions() {
    return _partitions.getNumPartitions();
  }

  @Override
  public final Map<String, String> getPartitionFunctionConfig() {
    return _partitions.getPartitionFunctionConfig();
  }

  @Override
  public final Set<Integer> getPartitions() {
    return _partitions.getPartitions();
  }
}
