# usage: resty.sh URL CA COUNT: runs resty.lua in nginx, until its input ends.
set -eu
PATH=$PATH:/usr/sbin
folder=$(mktemp -d)
cat >"$folder/nginx.conf" <<END
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; master_process off; pid $folder/pid; error_log stderr crit;
events {}
http {
  access_log off; client_body_temp_path $folder; proxy_temp_path $folder; fastcgi_temp_path $folder; uwsgi_temp_path $folder; scgi_temp_path $folder;
  lua_socket_log_errors off;
  server { listen unix:$folder/socket; location / { content_by_lua_file $PWD/resty.lua; } }
}
END
nginx -p "$folder" -c "$folder/nginx.conf" &
trap 'kill $!; wait; rm -r "$folder"' EXIT
until [ -S "$folder/socket" ]; do sleep 0.1; done
step() { curl -fsS --unix-socket "$folder/socket" "http://nginx/$1?url=$2&n=$3"; }
step first "$1" "$3"
echo cut:
read -r _
step again "$1" 0
