package io.kcp4j.tunnel.snappy;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/** Bytes to compress. */
enum Samples {
  RANDOM {
    @Override
    byte[] bytes(int length, RandomGenerator random) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      return bytes;
    }
  },
  ZEROS {
    @Override
    byte[] bytes(int length, RandomGenerator random) {
      return new byte[length];
    }
  },
  WORDS {
    @Override
    byte[] bytes(int length, RandomGenerator random) {
      StringBuilder text = new StringBuilder();
      while (text.length() < length) {
        text.append(Long.toString(31L * random.nextInt(1 << random.nextInt(1, 10)), 7)).append(' ');
      }
      return Arrays.copyOf(text.toString().getBytes(StandardCharsets.US_ASCII), length);
    }
  },
  /** Repeats with every distance, short ones most often, so that copies overlap themselves. */
  REPEATS {
    @Override
    byte[] bytes(int length, RandomGenerator random) {
      byte[] bytes = new byte[length];
      int at = 0;
      while (at < length) {
        int distance = Math.min(at, random.nextInt(1 << random.nextInt(1, 17)));
        int count = Math.min(length - at, random.nextInt(1, 100));
        for (int end = at + count; at < end; at++) {
          bytes[at] = distance == 0 ? (byte) random.nextInt() : bytes[at - distance];
        }
      }
      return bytes;
    }
  };

  abstract byte[] bytes(int length, RandomGenerator random);
}
