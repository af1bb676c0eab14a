package streamgauge.flink.queue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.SingleThreadMultiplexSourceReaderBase;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;

/** Reads some of the queues; what a completed checkpoint covers is acknowledged. */
final class QueueReader
    extends SingleThreadMultiplexSourceReaderBase<byte[], Tuple2<byte[], byte[]>, QueueSplit, QueueReader.Position> {
  private static final byte[] NO_KEY = {};
  private static final int RECORDS_AT_ONCE = 10_000;

  private final String stream;

  /** By checkpoint: the splits with their offsets. */
  private final TreeMap<Long, List<QueueSplit>> snapshots = new TreeMap<>();

  private final Map<String, QueueClient> acknowledging = new HashMap<>();

  /** How far a queue was read. */
  static final class Position {
    private final String address;
    private long offset;

    Position(QueueSplit split) {
      address = split.address();
      offset = split.offset();
    }
  }

  QueueReader(String stream, SourceReaderContext context) {
    super(() -> new Fetcher(stream), (value, output, position) -> {
      output.collect(Tuple2.of(NO_KEY, value));
      position.offset++;
    }, context.getConfiguration(), context);
    this.stream = stream;
  }

  @Override
  public List<QueueSplit> snapshotState(long checkpoint) {
    List<QueueSplit> splits = super.snapshotState(checkpoint);
    snapshots.put(checkpoint, splits);
    return splits;
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) throws Exception {
    super.notifyCheckpointComplete(checkpoint);
    List<QueueSplit> splits = snapshots.get(checkpoint);
    snapshots.headMap(checkpoint, true).clear();
    if (splits != null) {
      for (QueueSplit split : splits) {
        QueueClient client = acknowledging.get(split.address());
        if (client == null) {
          client = new QueueClient(split.address(), stream);
          acknowledging.put(split.address(), client);
        }
        client.acknowledge(split.offset());
      }
    }
  }

  @Override
  public void close() throws Exception {
    for (QueueClient client : acknowledging.values()) {
      client.close();
    }
    super.close();
  }

  @Override
  protected void onSplitFinished(Map<String, Position> finished) {
    throw new IllegalStateException("a queue has no end");
  }

  @Override
  protected Position initializedState(QueueSplit split) {
    return new Position(split);
  }

  @Override
  protected QueueSplit toSplitType(String id, Position position) {
    return new QueueSplit(position.address, position.offset);
  }

  /** Fetches from its queues in turn, in a thread of its own. */
  private static final class Fetcher implements SplitReader<byte[], QueueSplit> {
    private final String stream;
    private final Map<QueueClient, Position> queues = new LinkedHashMap<>();

    Fetcher(String stream) {
      this.stream = stream;
    }

    @Override
    public RecordsWithSplitIds<byte[]> fetch() throws IOException {
      RecordsBySplits.Builder<byte[]> records = new RecordsBySplits.Builder<>();
      for (Map.Entry<QueueClient, Position> queue : queues.entrySet()) {
        QueueClient client = queue.getKey();
        Position position = queue.getValue();
        ByteBuffer fetched = client.fetch(position.offset, RECORDS_AT_ONCE);
        while (fetched.hasRemaining()) {
          byte[] record = new byte[client.width];
          fetched.get(record);
          records.add(position.address, record);
          position.offset++;
        }
      }
      return records.build();
    }

    @Override
    public void handleSplitsChanges(SplitsChange<QueueSplit> change) {
      for (QueueSplit split : change.splits()) {
        try {
          queues.put(new QueueClient(split.address(), stream), new Position(split));
        } catch (IOException problem) {
          throw new java.io.UncheckedIOException(problem);
        }
      }
    }

    @Override
    public void wakeUp() {
      // A request waits for a tenth of a second at most.
    }

    /** Without taking leave: a reader that failed is closed, too, and its records wait for another one. */
    @Override
    public void close() throws IOException {
      for (QueueClient client : queues.keySet()) {
        client.close();
      }
    }
  }
}
