package streamgauge.kafkastreams.streambench;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StateStores;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.streambench.Counts;

/** Counts the distinct values of a field. Each task finds the new values among its own; one task counts them. */
public final class Distinctcount implements StreamProgram {
  private static final byte[] KEY = "distinct".getBytes(StandardCharsets.UTF_8);
  private static final String SEEN = "seen";

  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    int field = (int) job.parameter("field");
    KStream<byte[], byte[]> values =
        records.map((key, value) -> KeyValue.pair(Text.field(value, '\t', field), Running.NOTHING))
            .repartition(Repartitioned.with(Binary.BYTES, Binary.BYTES).withName("values"));
    return Running.inOneTask(values.process(new OnlyNew(job)), "new")
        .groupByKey(Grouped.with(Binary.BYTES, Binary.BYTES))
        .count(Running.store("count", Serdes.Long(), job))
        .toStream()
        .mapValues(n -> Counts.ofDistinct(n));
  }

  /** Forwards the first record with each key, under the key of the result. */
  private record OnlyNew(Job job) implements ProcessorSupplier<byte[], byte[], byte[], byte[]> {
    @Override
    public Processor<byte[], byte[], byte[], byte[]> get() {
      return new Filter();
    }

    @Override
    public Set<StoreBuilder<?>> stores() {
      return Set.of(StateStores.keyValues(job, SEEN, Binary.BYTES, Binary.BYTES));
    }
  }

  private static final class Filter extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
    private KeyValueStore<byte[], byte[]> seen;

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      super.init(context);
      seen = context.getStateStore(SEEN);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      if (seen.putIfAbsent(record.key(), Running.NOTHING) == null) {
        context().forward(record.withKey(KEY));
      }
    }
  }
}
