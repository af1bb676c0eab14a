package streamgauge.kafkastreams.streambench;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.streambench.Summary;

/** Summarises the numbers of a field. One task handles all records. */
public final class Statistics implements StreamProgram {
  private static final byte[] KEY = "statistics".getBytes(StandardCharsets.UTF_8);

  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    int field = (int) job.parameter("field");
    return Running.inOneTask(records.map((key, value) -> KeyValue.pair(KEY, Text.field(value, ' ', field))), "numbers")
        .groupByKey(Grouped.with(Binary.BYTES, Binary.BYTES))
        .aggregate(()
                       -> Summary.NONE,
            (key, number, summary)
                -> summary.add(Text.number(number)),
            Running.store("summary", Binary.serde(Summary.FORM), job))
        .toStream()
        .mapValues(summary -> summary.toJson());
  }
}
