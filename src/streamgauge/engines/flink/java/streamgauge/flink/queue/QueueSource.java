package streamgauge.flink.queue;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Reads one stream from all queues; each queue is a split. Records have no key. */
public final class QueueSource implements Source<Tuple2<byte[], byte[]>, QueueSplit, Integer> {
  private static final long serialVersionUID = 1L;

  private final List<String> queues;
  private final String stream;

  public QueueSource(List<String> queues, String stream) {
    this.queues = new ArrayList<>(queues);
    this.stream = stream;
  }

  @Override
  public Boundedness getBoundedness() {
    return Boundedness.CONTINUOUS_UNBOUNDED;
  }

  @Override
  public SourceReader<Tuple2<byte[], byte[]>, QueueSplit> createReader(SourceReaderContext context) {
    return new QueueReader(stream, context);
  }

  @Override
  public SplitEnumerator<QueueSplit, Integer> createEnumerator(SplitEnumeratorContext<QueueSplit> context) {
    return restoreEnumerator(context, 0);
  }

  @Override
  public SplitEnumerator<QueueSplit, Integer> restoreEnumerator(
      SplitEnumeratorContext<QueueSplit> context, Integer assigned) {
    return new Enumerator(context, queues, assigned);
  }

  @Override
  public SimpleVersionedSerializer<QueueSplit> getSplitSerializer() {
    return QueueSplit.SERIALIZER;
  }

  @Override
  public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
    return new Count();
  }

  /** Gives queue N to reader N modulo their number, as soon as all readers are there. */
  private static final class Enumerator implements SplitEnumerator<QueueSplit, Integer> {
    private final SplitEnumeratorContext<QueueSplit> context;
    private final List<QueueSplit> waiting = new ArrayList<>();
    private final int queues;

    /** The splits that were assigned before are in the state of the readers. */
    Enumerator(SplitEnumeratorContext<QueueSplit> context, List<String> queues, int assigned) {
      this.context = context;
      this.queues = queues.size();
      queues.subList(assigned, queues.size()).forEach(address -> waiting.add(new QueueSplit(address, 0)));
    }

    @Override
    public void start() {
      // Readers come by themselves.
    }

    @Override
    public void handleSplitRequest(int reader, String host) {
      // They do not ask.
    }

    @Override
    public void addSplitsBack(List<QueueSplit> splits, int reader) {
      waiting.addAll(splits);
      assign();
    }

    @Override
    public void addReader(int reader) {
      assign();
    }

    private void assign() {
      int readers = context.currentParallelism();
      if (context.registeredReaders().size() < readers) {
        return;
      }
      for (int place = 0; place < waiting.size(); place++) {
        context.assignSplit(waiting.get(place), place % readers);
      }
      waiting.clear();
    }

    @Override
    public Integer snapshotState(long checkpoint) {
      return waiting.isEmpty() ? queues : 0;
    }

    @Override
    public void close() {
      // It holds nothing.
    }
  }

  private static final class Count implements SimpleVersionedSerializer<Integer> {
    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(Integer count) {
      return new byte[] {(byte) (count >> 8), (byte) (int) count};
    }

    @Override
    public Integer deserialize(int version, byte[] bytes) {
      return (bytes[0] & 0xFF) << 8 | bytes[1] & 0xFF;
    }
  }
}
