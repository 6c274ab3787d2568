package io.pinotplugins.reader;

import java.io.File;
import java.io.IOException;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.Set;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;

/**
 * Stands before a reader of Pinot's and gives the values of some columns in the units of the table's time
 * columns: Pinot's readers hand on the number that the file stores, in the file's unit.
 */
public final class TimeConvertingRecordReader implements RecordReader {
    private final RecordReader reader;
    private final String[] names;
    private final long[] perMilli;
    private final long[] multipliers;
    private final long[] divisors;
    private final boolean[] areInt;

    /**
     * The arrays have an element for each of the columns.
     *
     * @param reader opened
     * @param names of the columns
     * @param perMilli how many of the file's units a millisecond has; 0 where a unit is longer
     * @param multipliers of the file's numbers
     * @param divisors of the products
     * @param areInt whether the column is an INT
     */
    public TimeConvertingRecordReader(RecordReader reader, String[] names, long[] perMilli,
            long[] multipliers, long[] divisors, boolean[] areInt) {
        this.reader = reader;
        this.names = names;
        this.perMilli = perMilli;
        this.multipliers = multipliers;
        this.divisors = divisors;
        this.areInt = areInt;
    }

    @Override
    public void init(File file, Set<String> fields, RecordReaderConfig config) throws IOException {
        reader.init(file, fields, config);
    }

    @Override
    public boolean hasNext() {
        return reader.hasNext();
    }

    @Override
    public GenericRow next() throws IOException {
        return next(new GenericRow());
    }

    @Override
    public GenericRow next(GenericRow reuse) throws IOException {
        GenericRow row = reader.next(reuse);
        for (int i = 0; i < names.length; i++) {
            Object value = row.getValue(names[i]);
            if (value != null) {
                try {
                    row.putValue(names[i], converted(value, i));
                } catch (ArithmeticException e) {
                    throw new RuntimeException("The time does not fit, for column: " + names[i], e);
                }
            }
        }
        return row;
    }

    @Override
    public void rewind() throws IOException {
        reader.rewind();
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }

    private Object converted(Object value, int column) {
        if (value instanceof Object[]) {
            Object[] values = (Object[]) value;
            Object[] all = new Object[values.length];
            for (int i = 0; i < values.length; i++) {
                all[i] = converted(values[i], column);
            }
            return all;
        }
        long number;
        if (value instanceof Timestamp && perMilli[column] > 0) {
            // Where Pinot's reader heeds the file's unit itself.
            number = Math.multiplyExact(((Timestamp) value).getTime(), perMilli[column]);
        } else if (value instanceof String && perMilli[column] == 0) {
            // A date, which Pinot's Avro reader writes as text since 1.4.
            number = LocalDate.parse((String) value).toEpochDay();
        } else if (value instanceof Long || value instanceof Integer) {
            number = ((Number) value).longValue();
        } else {
            return value;
        }
        number = Math.floorDiv(Math.multiplyExact(number, multipliers[column]), divisors[column]);
        if (areInt[column]) {
            return Math.toIntExact(number);
        }
        return number;
    }
}
