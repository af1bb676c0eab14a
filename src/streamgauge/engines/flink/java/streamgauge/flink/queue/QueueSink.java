package streamgauge.flink.queue;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.java.tuple.Tuple2;

/** Sends results to the collector in frames: when one is full, and a few milliseconds after its first result. */
public final class QueueSink implements Sink<Tuple2<byte[], byte[]>> {
  private static final long serialVersionUID = 1L;

  private static final int FRAME_BYTES = 64 * 1024;
  private static final long LINGER_MS = 5;

  private final String collector;
  private final String stream;

  public QueueSink(String collector, String stream) {
    this.collector = collector;
    this.stream = stream;
  }

  @Override
  public SinkWriter<Tuple2<byte[], byte[]>> createWriter(WriterInitContext context) throws IOException {
    return new Writer(new QueueClient(collector, stream), context.getProcessingTimeService());
  }

  private static final class Writer implements SinkWriter<Tuple2<byte[], byte[]>> {
    private final QueueClient client;
    private final ProcessingTimeService time;
    private ByteBuffer frame = empty(FRAME_BYTES);

    Writer(QueueClient client, ProcessingTimeService time) {
      this.client = client;
      this.time = time;
    }

    @Override
    public void write(Tuple2<byte[], byte[]> result, Context context) throws IOException {
      int needed = 2 * Integer.BYTES + result.f0.length + result.f1.length;
      if (frame.remaining() < needed) {
        send();
        frame = needed > FRAME_BYTES ? empty(needed) : frame;
      }
      if (frame.position() == Integer.BYTES) {
        time.registerTimer(time.getCurrentProcessingTime() + LINGER_MS, now -> send());
      }
      frame.putInt(result.f0.length).putInt(result.f1.length).put(result.f0).put(result.f1);
    }

    @Override
    public void flush(boolean endOfInput) throws IOException {
      send();
    }

    /** Returns when the collector has the results. */
    private void send() throws IOException {
      if (frame.position() > Integer.BYTES) {
        frame.putInt(0, frame.position() - Integer.BYTES);
        client.send(frame.array(), frame.position());
        client.count();
        frame.position(Integer.BYTES);
      }
    }

    @Override
    public void close() throws IOException {
      client.close();
    }

    private static ByteBuffer empty(int bytes) {
      return QueueClient.buffer(Integer.BYTES + bytes).position(Integer.BYTES);
    }
  }
}
