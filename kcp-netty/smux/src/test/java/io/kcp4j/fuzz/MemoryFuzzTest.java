package io.kcp4j.fuzz;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufUtil;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs {@link MemoryFuzz} without a fuzzer: what was found by it, and random inputs. */
class MemoryFuzzTest {

  private static final int INPUTS = 40;
  private static final int MAX_INPUT_BYTES = 200;

  @ParameterizedTest
  @CsvSource({
    "a client is refused until it gives up,"
        + " 00d60eeb5c45a3d7eb8275d9c905379bbedaaa6ba992df54524319b2e5b36b99bbc8f77fac1ed2ea0968b170c"
        + "813bd13f0feb4ade8e3dfa5ee99417c3829db55233c77e38fc3fae5c72bf2f7e0ff1ac591c7207d6ebb35902123"
        + "a1686b0a4f1cb554473ef289ec86bf3e652d435b73cff9f11948189cabec443a856ee756e535430baf03f945851"
        + "29cd11884ca128bfa3939bb9c036934bc00398981f9006245fd09bf99ddb780acc3b275e97342eba343ee95e109"
        + "3d0d413fea98",
    "turns end before clients that have backed off send again,"
        + " 00b29bbd171776195b1c2ad9b717353440071c5fcbbb2bb3afe1098ab17ffdfad7e902f23650bab94ec8bb04b"
        + "41f8266dde5463357b516dfbe1fb06b31a6f6789fab574f630b5e778973da070e323f56696cfdc1703694ac1fe1"
        + "10aface3d6674070b67ee87b9c5fe64d0e680897b4393beb692849a91bc05976f120cc66df73ea8e5767671dea9"
        + "060b55db0",
    "a client whose rate timeouts have halved misses its turns,"
        + " 08933f481cc99a5268a694618462c7a460a3b2d54e1cf3094cee675eda392c30bf2f5159ba82a5b3e7597aa6"
        + "88aba030ca9c53ef0d9109c4ee58244e193ecfea7101a6bd25000d8f6ffb85931628d6d009116da9f43121c8"
        + "6fa6c95083a99aa360e67d006dc2b888058af7e8172deba416da2f2f5ee3be7cd427094ededd26f4fdce6d5d"
        + "f8c8fce300eb48d70bad56f3b0f0b6f01776417a509b46c435bea6faae0cc6e5c90c0197941df4bfbb419181"
        + "c1afbeb0ed414136e6676b779c6b2abd9df752bb5ef438540a9c81bf40498b79f2deebabebc843d0355e1d26"
        + "e2a40a43b9aef6c0",
    "others have used the reserve up,"
        + " 70ced0c9d704315b3254ceed872690b123ed6a771c4f7407ec8e23ecba08c481bf686e66447f0ae6fd432ecd"
        + "598a2a7e1e62e48907ef105f9fcfcb88d7d8b842a9bea8cacc57eefdbf4acb2937fcab5631eb37faafc961e2"
        + "1934c209a1bedf9ff9aa06382e83df349ad89a2c26ebc0d70160055f3d408c3f567b6bae9029e6c607ae51fe"
        + "559c5c03171c6b1ab7b8c7a9ec816f6849ea6477fbf84d32dfea0d2f9b94f9369f0fcbee057a031483286e14"
        + "8049b0c6f47d7cce036edc917ce3309b345bb5345082e67ad87e641ad0921f1cd16d4d86c9b1adef0ca8d2ba"
        + "f62e4c98c05e840cc3bf4b2cdb0e9aead48dbe0a4bb26bb17cb2a13176b3b969b70bee7211ef7f0c3ae36ec3"
        + "a2f3ff44c9879aaf2860c2de17996446fd516513f47eebb4585a9d1c0331bb5eace516e144c4935a70ae8421"
        + "6a062653e802f73a482ca2a3d750232ef2c153a158d1a21947e0d175e32f7093423db68185eb0ca44cdad59b"
        + "2b86e0dc49343824813b3e04fc9408a484aa3fb9fb76565d4ad4f5724790795c0b0108704d528e25845a",
    "a client is told of its turn too late,"
        + " 3cb1369efd0ff198f6f7e72da48617c24c8b9670ee0892b01b315e9b810600f57ec2190e1efc6d6cfec6a34a"
        + "6beef08b1655443f217cb79880bbd331b6c7fe8ee2d6c9fe1bc44349c9673c22ba28ff081c57a4c14568f442"
        + "cff51daf5974380addaa260e862fa071229fdb6981b3639bdff0883f8cb747a4bb9dabdbbede8573256a80a7"
        + "e5ff59ca9d4668df99947edf36c3f8bb7ba3476939e4cd66aaf3284e557fae9b68a78eefefaac2ad53f581d8"
        + "5154b832425b6ea96af1cc6a3919a098c3e004319cc3359de8ba0da7f1f6a610780ad865eef635dfdcbf41c3"
        + "795fcb12d2abcc7a1a9c4e4ee5418558d1aedf6d0baac68a0e7f55c47f810bd1d929e71cbf85814948ee66e9"
        + "78040613f191296b10a93cc8b56986fe6dd181852940873ef417eec177021c3e15daa2d2268bdb8067139906"
        + "bf46c768ec719bb5f1c04258623cf4bbd417d0916ca608f63d8c38a3b57d7fc9415880cdb3d68d658cf907a7"
        + "68796a77f00b512563383044cef2630080",
    "sessions that need nothing take turns,"
        + " bf0985fa29903fdd76a1ac2572221e563f5f703c4206f1659efd1810c6c931182e22e80267501fc83645ccaa"
        + "7b7dddddeb131eb35ee986319bc2230827d5e4c96eaca6b76de49456f0903c9eab06a629e2611a471418e72b"
        + "edb68c7b9df44031b6900f28f71247ef701310deaf76142c1848391d49c1c70e2d1826940e49f4caef4fff46"
        + "c86e4536ef5852550c5d0fc30bde03de260f28f7f937a60e9377e7f39f1c9153e7a5f95e7181fb6910b25c74"
        + "cdf9eab09d139a47ec77c50c5a7a5e4a64e75646597774f5abd0dce022721fe0136f81627de6fd74c21d1809"
        + "bf9ed41e7b8ab11fd6a8178e4aef06eb075ae17744ff990bc8c539900273ce247146e6acc36e26ab0dc35a88"
        + "ba2621c988b1f1e57530f969d6e591f53e96d184f3295aa7a6d961bbd8854ac7ddfad88888afe73a00069d96"
        + "b514a3ee3e293bc182dc10d5f815607fd5a84eed5a6f8a5925192e98175006b7dabee1f052d0a48259a46fc1"
        + "17523b20f5022727ffa45a159528b2e0ad7e6d5ae7cacce63108bcf9d39130ffc119addb809d6dc56910974b"
        + "1c2f7a780347f2cb32202ecf94a994c0330f7bbbdf345c596b105542fd38",
    "a client's rate stays low for ever,"
        + " 4194da07552e01bc4153f68b22cbb0220892b0ef4d040fb70478bf832be9f61e6ebcfd7faaea22ca3a11e046"
        + "7c4b1813130a1cdb8b6eb0fd6fa13cc418c19ca1980e50de08b9cc646d8ae412a164fdfbccc62d50f561e615"
        + "7c037bf638d2b3b83d6b55dc87310c57c712beb847461f4c171c8aea0b1acfc055738e19e233baf001b7f51f"
        + "1b0526e96f38e652544d142ca0d052157f55f47dfca73dcf05ecb76924c0d1a5dd15acd0d7a0535d453de5c7"
        + "7f3ca990036332c7fecf42cd673425121ecec4680bc089e6847ba38cc603ceb98896c2242e85be97c83894c4"
        + "2a5bfbf724136d9c0b2683c3c5b55570cc5adf904ed5b0fb8d143f5d4c5ad551dd1bd40abc4aced29a0d014a"
        + "ee052a44e8fc1a9a6d23574b8375627a3a49bc12518f9481fdc477abf4c99b50676b7ac49ec77fe74e232ce9"
        + "c70df016f324b42c8d79ae1df147763fe00ae03a9bd883643c1d711aabfd90f4d8c3f29437981c8b655c138c"
        + "9ac31aadfb7e97dbd8fc430d3797197c075ace8fd7b0142a713a720d12704e297430e3a997ac3487fd5950c5"
        + "ad51522849d626b5e9547fa4a32216bc4f302fe2ee6b5626b01164b21f1fa272f067a017a3ba8893a11f02f1"
        + "96f8d411e6da0796b4f3a3d61655707b7d830a220134dbbe8b15bdd4063c49e651daedc0a1471513f3d33eb9"
        + "4a6a",
  })
  void knownInput(String what, String hex) {
    int done = MemoryFuzz.run(ByteBufUtil.decodeHexDump(hex));
    assertTrue(done > 10, what + ": " + done);
  }

  /** Any limit, with and without loss and reordering. */
  @ParameterizedTest
  @ValueSource(ints = {0x00, 0x15, 0x3a, 0x3f, 0x41, 0x7e, 0xc5, 0xea})
  void randomInputs(int setup) {
    SplittableRandom random = new SplittableRandom(setup);
    int done = 0;
    for (int i = 0; i < INPUTS; i++) {
      byte[] input = new byte[1 + random.nextInt(MAX_INPUT_BYTES)];
      random.nextBytes(input);
      input[0] = (byte) setup;
      done += MemoryFuzz.run(input);
    }
    assertTrue(done > 4 * INPUTS, "done " + done);
  }

  @Test
  void emptyInputIsOne() {
    assertTrue(MemoryFuzz.run(new byte[0]) == 0);
  }
}
