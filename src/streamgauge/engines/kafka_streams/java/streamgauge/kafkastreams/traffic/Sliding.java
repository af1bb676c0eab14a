package streamgauge.kafkastreams.traffic;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Form;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.traffic.Changes;
import streamgauge.traffic.Pair;
import streamgauge.traffic.Sums;

/**
 * The relative change of flow and speed of each point and second against earlier seconds.
 *
 * <p>A window holds the sums of each of its seconds, in an array indexed by the second modulo the window's length.
 */
public final class Sliding implements Program {
  private int[] lookBacksS;
  private int lengthS;

  @Override
  public boolean ordersTopics() {
    return true;
  }

  @Override
  public Topology topology(Job job) {
    lookBacksS = Changes.lookBacksS(job);
    lengthS = lookBacksS[lookBacksS.length - 1] + 1;
    StreamsBuilder builder = new StreamsBuilder();
    Serde<Sums[]> seconds = Binary.serde(new Form<>(Sliding::write, this::read, false));
    Windows
        .over(Duration.ofMillis(lengthS * Sums.SECOND_MS), builder, job, this::nothing,
            (id, pair, sums) -> add(sums, pair), seconds)
        .filter((window, sums) -> sums[place(window.window().end())].n() > 0)
        .map(this::result)
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }

  private Sums[] nothing() {
    Sums[] sums = new Sums[lengthS];
    Arrays.fill(sums, Sums.NONE);
    return sums;
  }

  private Sums[] add(Sums[] sums, Pair pair) {
    int place = place(Sums.endMs(pair.eventMs()));
    sums[place] = sums[place].add(pair);
    return sums;
  }

  private int place(long endMs) {
    return (int) (endMs / Sums.SECOND_MS % lengthS);
  }

  private KeyValue<byte[], byte[]> result(Windowed<byte[]> window, Sums[] sums) {
    long endMs = window.window().end();
    Sums[] before = new Sums[lookBacksS.length];
    for (int i = 0; i < before.length; i++) {
      Sums then = sums[place(endMs - lookBacksS[i] * Sums.SECOND_MS)];
      before[i] = then.n() > 0 ? then : null;
    }
    String id = new String(window.key(), StandardCharsets.UTF_8);
    return KeyValue.pair(window.key(), Changes.toJson(id, endMs, lookBacksS, sums[place(endMs)], before));
  }

  private static void write(Sums[] seconds, DataOutput out) throws IOException {
    for (Sums sums : seconds) {
      sums.write(out);
    }
  }

  private Sums[] read(DataInput in) throws IOException {
    Sums[] seconds = new Sums[lengthS];
    for (int i = 0; i < lengthS; i++) {
      seconds[i] = Sums.read(in);
    }
    return seconds;
  }
}
