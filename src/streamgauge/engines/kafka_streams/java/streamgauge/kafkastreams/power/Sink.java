package streamgauge.kafkastreams.power;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.power.Reading;

/** Turns every reading into JSON and publishes none. */
public final class Sink implements Program {
  /** Counts what would be stored, so that no compiler leaves out the work. */
  private final LongAdder bytes = new LongAdder();

  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(job.inputs(), Consumed.with(Binary.BYTES, Binary.BYTES))
        .mapValues(Reading::toJson)
        .foreach((sensor, json) -> bytes.add(json.length));
    return builder.build();
  }
}
