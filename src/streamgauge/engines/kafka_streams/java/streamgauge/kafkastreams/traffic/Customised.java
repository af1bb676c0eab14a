package streamgauge.kafkastreams.traffic;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.kafkastreams.StateStores;
import streamgauge.traffic.Message;
import streamgauge.traffic.Point;
import streamgauge.traffic.Stage;

/** The stateful stages, with the Processor API: one store of points, one lookup per message. */
abstract class Customised implements Program {
  private static final String POINTS = "points";

  abstract Stage stage(Job job);

  @Override
  public boolean ordersTopics() {
    return true;
  }

  @Override
  public Topology topology(Job job) {
    Stage stage = stage(job);
    long outOfOrderMs = job.parameter("out_of_order_ms");
    return new Topology()
        .addSource(
            "messages", new ByteArrayDeserializer(), new ByteArrayDeserializer(), job.inputs().toArray(String[] ::new))
        .addProcessor("stage", () -> new Points(stage, outOfOrderMs), "messages")
        .addStateStore(StateStores.keyValues(job, POINTS, Binary.BYTES, Binary.BYTES), "stage")
        .addSink("results", job.output(), new ByteArraySerializer(), new ByteArraySerializer(), "stage");
  }

  /** Feeds each point's messages to its state, and settles the points that are due. */
  private static final class Points extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
    private final Stage stage;
    private final long outOfOrderMs;

    /** Points by the watermark at which they are due. Each occurs once, at the time stored in its state. */
    private final NavigableMap<Long, Set<Bytes>> due = new TreeMap<>();

    private KeyValueStore<byte[], byte[]> points;

    Points(Stage stage, long outOfOrderMs) {
      this.stage = stage;
      this.outOfOrderMs = outOfOrderMs;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      super.init(context);
      points = context.getStateStore(POINTS);
      due.clear();
      try (KeyValueIterator<byte[], byte[]> kept = points.all()) {
        while (kept.hasNext()) {
          KeyValue<byte[], byte[]> entry = kept.next();
          wake(entry.key, Point.fromBytes(entry.value).timerMs());
        }
      }
    }

    @Override
    public void process(Record<byte[], byte[]> message) {
      byte[] key = message.key();
      byte[] kept = points.get(key);
      Point point = kept == null ? new Point() : Point.fromBytes(kept);
      byte[] joined = point.take(stage, Message.parse(message.value()), message.timestamp());
      long watermarkMs = context().currentStreamTimeMs() - outOfOrderMs;
      if (joined != null) {
        publish(key, joined);
      }
      settle(key, point, watermarkMs);
      while (!due.isEmpty() && due.firstKey() <= watermarkMs) {
        for (Bytes other : due.pollFirstEntry().getValue()) {
          Point woken = Point.fromBytes(points.get(other.get()));
          woken.setTimerMs(Point.NEVER);
          settle(other.get(), woken, watermarkMs);
        }
      }
    }

    private void settle(byte[] key, Point point, long watermarkMs) {
      for (byte[] result : point.settle(stage, new String(key, StandardCharsets.UTF_8), watermarkMs)) {
        publish(key, result);
      }
      setTimer(key, point);
      if (point.isEmpty() && point.timerMs() == Point.NEVER) {
        points.delete(key);
      } else {
        points.put(key, point.toBytes());
      }
    }

    /** A timer that fires early is harmless, so it is only ever moved to an earlier time. */
    private void setTimer(byte[] key, Point point) {
      long dueMs = point.dueMs(stage);
      if (dueMs < point.timerMs()) {
        if (point.timerMs() != Point.NEVER) {
          due.get(point.timerMs()).remove(Bytes.wrap(key));
        }
        point.setTimerMs(dueMs);
        wake(key, dueMs);
      }
    }

    private void wake(byte[] key, long timerMs) {
      if (timerMs != Point.NEVER) {
        due.computeIfAbsent(timerMs, moment -> new LinkedHashSet<>()).add(Bytes.wrap(key));
      }
    }

    private void publish(byte[] key, byte[] value) {
      context().forward(new Record<>(key, value, context().currentStreamTimeMs()));
    }
  }
}
