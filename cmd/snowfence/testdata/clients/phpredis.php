<?php
// TestClientsConverse describes what every conversation does.
[, $url, $ca, $n] = $argv;
$place = parse_url($url);

function connect(array $place, string $ca, string $token): Redis
{
    $ids = new Redis();
    $tls = $ca ? ['stream' => ['cafile' => $ca]] : [];
    $ids->connect(($ca ? 'tls://' : '') . $place['host'], $place['port'], 5, null, 0, 0, $tls);
    $ids->auth($token);
    return $ids;
}

$ids = connect($place, $ca, $place['pass']);
$ids->select(0);
$ids->client('setname', 'teller');
echo 'name: ', $ids->client('getname'), "\n";

$pipeline = $ids->pipeline();
for ($i = 0; $i < $n; $i++) {
    $pipeline->incr('orders');
}
echo 'pipelined: ', implode(' ', $pipeline->exec()), "\n";

echo 'batch: ', implode(' ', $ids->rawCommand('ID.NEXT', 'orders', 'COUNT', 1000)), "\n";

// It returns false, and keeps the error.
echo $ids->incr('nosuch') === false ? 'unknown: ' . $ids->getLastError() . "\n" : '';

try {
    connect($place, $ca, 'not-' . $place['pass']);
} catch (RedisException $e) {
    echo 'refused: ', $e->getMessage(), "\n";
}

echo "cut:\n";
fgets(STDIN);
echo 'again: ', $ids->incr('orders'), "\n";
