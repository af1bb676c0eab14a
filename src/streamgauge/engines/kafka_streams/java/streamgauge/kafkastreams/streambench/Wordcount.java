package streamgauge.kafkastreams.streambench;

import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.streambench.Counts;

/** Counts every word of a field. A repartition topic brings each word to the task that counts it. */
public final class Wordcount implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    int field = (int) job.parameter("field");
    return records.flatMap((key, value) -> words(Text.field(value, '\t', field)))
        .groupByKey(Grouped.with("words", Binary.BYTES, Binary.BYTES))
        .count(Running.store("counts", Serdes.Long(), job))
        .toStream()
        .mapValues((word, n) -> Counts.ofWord(word, n));
  }

  private static List<KeyValue<byte[], byte[]>> words(byte[] text) {
    return Text.words(text, ' ').stream().map(word -> KeyValue.pair(word, Running.NOTHING)).toList();
  }
}
