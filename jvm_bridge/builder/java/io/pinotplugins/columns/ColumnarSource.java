package io.pinotplugins.columns;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.pinot.segment.local.segment.creator.impl.stats.AbstractColumnStatisticsCollector;
import org.apache.pinot.segment.local.segment.creator.impl.stats.SegmentPreIndexStatsCollectorImpl;
import org.apache.pinot.segment.spi.creator.ColumnStatistics;
import org.apache.pinot.segment.spi.creator.SegmentCreationDataSource;
import org.apache.pinot.segment.spi.creator.SegmentPreIndexStatsContainer;
import org.apache.pinot.segment.spi.creator.StatsCollectorConfig;
import org.apache.pinot.spi.data.FieldSpec.DataType;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;

/**
 * Replaces the rows for Pinot's driver. The driver gets statistics, makes a dictionary and creators for each column,
 * and then rewinds its reader to read the rows: at that moment whole columns are passed to its creators, and the
 * reader returns no rows. Everything runs in the thread of the build.
 */
public final class ColumnarSource implements SegmentCreationDataSource, SegmentPreIndexStatsContainer, RecordReader {
  private final transient ColumnFile _file;
  private final int _rows;
  private final Map<String, Column> _columns = new LinkedHashMap<>();
  private transient Function<String, ColumnCreators> _creators;

  public ColumnarSource(ColumnFile file, int rows) {
    _file = file;
    _rows = rows;
  }

  /** Adds a column that is in the file as numbers of its stored type. */
  public void addNumbers(String name, DataType storedType, boolean isSingle, long[] positions) {
    _columns.put(name, new NumberColumn(name, storedType, isSingle, positions));
  }

  /** Adds a column that is in the file as texts, which are converted by a function if there is one. */
  public void addTexts(String name, DataType storedType, boolean isSingle, long[] positions,
      BiFunction<String, String, Object> transformer) {
    _columns.put(name, new TextColumn(name, storedType, isSingle, positions, transformer));
  }

  /** Sets the function that finds the creators of the driver; needed when the driver builds. */
  public void setCreators(Function<String, ColumnCreators> creators) {
    _creators = creators;
  }

  @Override
  public SegmentPreIndexStatsContainer gatherStats(StatsCollectorConfig config) {
    SegmentPreIndexStatsCollectorImpl collectors = new SegmentPreIndexStatsCollectorImpl(config);
    collectors.init();
    try {
      for (Map.Entry<String, Column> entry : _columns.entrySet()) {
        String name = entry.getKey();
        entry.getValue().collect(_file, config.getFieldSpecForColumn(name),
            (AbstractColumnStatisticsCollector) collectors.getColumnProfileFor(name));
      }
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public ColumnStatistics getColumnProfileFor(String column) {
    return _columns.get(column);
  }

  @Override
  public int getTotalDocCount() {
    return _rows;
  }

  @Override
  public RecordReader getRecordReader() {
    return this;
  }

  @Override
  public void rewind()
      throws IOException {
    for (Map.Entry<String, Column> entry : _columns.entrySet()) {
      entry.getValue().index(_file, _creators.apply(entry.getKey()));
    }
  }

  @Override
  public boolean hasNext() {
    return false;
  }

  @Override
  public GenericRow next() {
    throw new IllegalStateException("columns are not read row by row");
  }

  @Override
  public GenericRow next(GenericRow reuse) {
    return next();
  }

  @Override
  public void init(File dataFile, Set<String> fieldsToRead, RecordReaderConfig config) {
  }

  @Override
  public void close() {
  }
}
