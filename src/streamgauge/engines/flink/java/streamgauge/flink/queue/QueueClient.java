package streamgauge.flink.queue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A connection to a queue or the collector (see the protocol, Queues). */
final class QueueClient implements AutoCloseable {
  private static final int FETCH = 1;
  private static final int ACKNOWLEDGE = 3;
  private static final int REQUEST_BYTES = 16;
  private static final int ANSWER_BYTES = 16;

  /** The bytes of a record; 1 of the collector. */
  final int width;

  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  /** The address is {@code host:port}. */
  QueueClient(String address, String stream) throws IOException {
    int colon = address.lastIndexOf(':');
    socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
    try {
      socket.setTcpNoDelay(true);
      in = new DataInputStream(socket.getInputStream());
      out = socket.getOutputStream();
      byte[] name = stream.getBytes(StandardCharsets.UTF_8);
      out.write(buffer(Integer.BYTES + name.length).putInt(name.length).put(name).array());
      width = read(Integer.BYTES).getInt();
      if (width == 0) {
        throw new IOException("there is no stream " + stream + " at " + address);
      }
    } catch (IOException problem) {
      socket.close();
      throw problem;
    }
  }

  /** Records from the offset on, one after another; none if none came within the queue's time. */
  ByteBuffer fetch(long offset, int most) throws IOException {
    request(FETCH, most, offset);
    ByteBuffer answer = read(ANSWER_BYTES);
    answer.getLong();
    int count = answer.getInt();
    if (answer.getInt() != 0) {
      throw new IOException("records from " + offset + " on are gone from the queue");
    }
    return read(count * width);
  }

  /** Records below the offset are not needed any more. */
  void acknowledge(long offset) throws IOException {
    request(ACKNOWLEDGE, 0, offset);
  }

  void send(byte[] bytes, int length) throws IOException {
    out.write(bytes, 0, length);
  }

  /** The number of results that the collector has answered with. */
  long count() throws IOException {
    return read(Long.BYTES).getLong();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private void request(int what, int most, long offset) throws IOException {
    out.write(buffer(REQUEST_BYTES).putInt(what).putInt(most).putLong(offset).array());
  }

  private ByteBuffer read(int bytes) throws IOException {
    ByteBuffer answer = buffer(bytes);
    in.readFully(answer.array());
    return answer;
  }

  static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
